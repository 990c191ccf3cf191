"""The exercises of chapter 2, all-reduce: from each with each to rings, trees and machines of several ranks."""

"""What is trained in every chapter, without a download: handwritten digits, and text, on small models.

Who draws batches at random draws them in one way: `random_batches`, by seed and rank.
"""

from course_lib.tasks.batches import random_batches
from course_lib.tasks.classifier import Classifier
from course_lib.tasks.digits import Digits, accuracy, digit_batches, digits_model, load_digits, scores
from course_lib.tasks.gpt import GPT, GPTConfig, next_token_loss
from course_lib.tasks.lstm import LanguageLSTM, LSTMConfig
from course_lib.tasks.text import encode, load_source_text, source_tokens, text_batches

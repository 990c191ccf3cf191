"""What only the page's comparison with PyTorch needs: the same GPT on the same mesh, by PyTorch's own parts."""

from course_lib.mesh.experiments.pytorch import PyTorchStage, PyTorchStep

"""`course plan`: a model's parameters, and the plans that train it on a cluster."""

from __future__ import annotations

import click

__all__ = ["plan"]


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("--sequence", default=4096, show_default=True, type=click.IntRange(1), help="Tokens of a sequence.")
def plan(model: str, sequence: int) -> None:
    """Count the parameters of MODEL, a Hugging Face config.json or numbers.

    \b
    course plan config.json
    course plan "vocab_size=32000,hidden_size=4096,intermediate_size=11008,num_hidden_layers=32,num_attention_heads=32"
    """
    from course_lib.planning import ConfigError, model_lines, read_fields, shape_of

    try:
        shape = shape_of(read_fields(model), sequence)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(model_lines(shape)))

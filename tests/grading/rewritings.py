"""Right answers rewritten by rule: other names, cells, containers and ways to fill them, which all mean the same.

Each rule takes the cells of an answer and the name of its function, and gives cells that define a function of that name
which does the same. `WORK` is what the function is called where another one takes its name.
"""

import ast
import io
import tokenize
from collections.abc import Callable

__all__ = ["RULES", "rewritten"]

WORK = "the_work"
RULES: dict[str, Callable[[list[str], str], list[str]]] = {}


def rewritten(source: str, name: str, rule: str) -> list[str]:
    """The cells of this answer, rewritten by this rule."""
    return RULES[rule](source.split("\n# %%\n"), name)


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)


def _renamed(cells: list[str], names: dict[str, str]) -> list[str]:
    return [ast.unparse(_Renamed(names).visit(ast.parse(cell))) for cell in cells]


def _helpers(cells: list[str], function: str) -> list[str]:
    """The names that cells define at their top level, beside the function's."""
    found = []
    for cell in cells:
        for node in ast.parse(cell).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.append(node.name)
            elif isinstance(node, ast.Assign):
                found += [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return [name for name in found if name != function]


def _rule(rule: Callable[[list[str], str], list[str]]) -> Callable[[list[str], str], list[str]]:
    RULES[rule.__name__] = rule
    return rule


def _around(name: str, above: str = "", call: str = WORK, below: str = "") -> None:
    """A rule: the answer under another name, then `above`, the function that gives what `call` gives, then `below`."""

    def rule(cells: list[str], function: str) -> list[str]:
        answer = f"def {function}(*args):\n    return {call}(*args)"
        more = [text.replace("ANSWER", function) for text in (above, answer, below) if text]
        return [*_renamed(cells, {function: WORK}), *more]

    rule.__name__ = name
    _rule(rule)


# Names and cells


@_rule
def renamed_helpers(cells: list[str], function: str) -> list[str]:
    return _renamed(cells, {name: f"my_{name}_2" for name in _helpers(cells, function)})


@_rule
def helper_below(cells: list[str], function: str) -> list[str]:
    return [f"def {function}(*args):\n    return {WORK}(*args)", *_renamed(cells, {function: WORK})]


@_rule
def each_statement_in_a_cell(cells: list[str], function: str) -> list[str]:
    return [ast.unparse(node) for cell in cells for node in ast.parse(cell).body]


@_rule
def in_an_if(cells: list[str], function: str) -> list[str]:
    return [
        "\n".join(["if True:", *(f"    {line}" for line in ast.unparse(ast.parse(cell)).split("\n"))]) for cell in cells
    ]


@_rule
def line_breaks(cells: list[str], function: str) -> list[str]:
    """As Black breaks lines, and more: within brackets each token on a line of its own."""
    return [_broken(ast.unparse(ast.parse(cell))) for cell in cells]


def _broken(source: str) -> str:
    text, depth, last, strings = "", 0, (1, 0), 0
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.ENDMARKER or token.start[0] > len(lines):
            break
        begin = last[1] if last[0] == token.start[0] else 0
        strings += token.type == getattr(tokenize, "FSTRING_START", -1)
        inside = depth and not strings and token.string not in tuple(")]}")
        text += lines[token.start[0] - 1][begin : token.start[1]] + "\n" * bool(inside) + token.string
        strings -= token.type == getattr(tokenize, "FSTRING_END", -1)
        depth += (token.string in tuple("([{")) - (token.string in tuple(")]}"))
        last = token.end
    return text


@_rule
def magics(cells: list[str], function: str) -> list[str]:
    first, *rest = cells
    return [f"%%time\n%matplotlib inline\n!ls *.py\n{first}\n{function}?", "%%bash\nls (", *rest]


_around("helper_above")
_around("aliases", f"own_work = {WORK}\nagain, _ = own_work, None", "again")
_around("a_name_used_again", call=WORK, below=f"check('ID', ANSWER)\n# %%\ndef {WORK}(*args): return None")
_around(
    "endless_cells", "while True: pass\n# %%\nkept = {}\nlist(map(kept.update, [{0: 1}]))", f"[{WORK}][kept[0] - 1]"
)

# Registries and tables

_around(
    "registry",
    "KNOWN = {}\ndef known(f):\n    KNOWN[f.__name__] = f\n    return f\n"
    f"@known\ndef own_work(*args): return {WORK}(*args)",
    "KNOWN['own_work']",
)
_around(
    "registry_that_is_called",
    "KNOWN = {}\ndef known(name):\n    def inner(f):\n        KNOWN[name] = f\n        return f\n    return inner\n"
    f"@known('w')\ndef some(*args): return {WORK}(*args)",
    "KNOWN['w']",
)
_around("table_by_loop", f"TABLE = {{}}\nfor name, f in [('w', {WORK})]:\n    TABLE[name] = f", "TABLE['w']")
_around("table_by_call", f"TABLE = []\ndef fill(): TABLE.append({WORK})\n_ = fill()", "TABLE[0]")
_around("table_by_comprehension", f"TABLE = []\n[TABLE.append(f) for f in [{WORK}]]", "TABLE[0]")
_around(
    "table_by_method",
    f"TABLE = []\nclass Filler:\n    def fill(self, *all): TABLE.extend(all)\nFiller().fill({WORK})",
    "TABLE[0]",
)
_around("setdefault", f"TABLE = {{}}\nfor f in [{WORK}]:\n    TABLE.setdefault('w', []).append(f)", "TABLE['w'][0]")
_around("chained_assignment", f"TABLE = {{}}\nevery = TABLE['every'] = []\nevery.append({WORK})", "TABLE['every'][0]")
_around("header_taken_off", f"TABLE = ['name', {WORK}]\nheader = TABLE.pop(0)", "TABLE[0]")
_around("global_set_by_a_call", f"def begin():\n    global begun\n    begun = {WORK}\nprint(begin())", "begun")
_around("setattr", f"class Config: pass\nsetattr(Config, 'own_work', staticmethod({WORK}))", "Config.own_work")
_around("exec", f"exec('def own_work(*args): return {WORK}(*args)')", "own_work")

# Classes, generators, dispatch


_around(
    "class_in_place_of_closure",
    f"class Work:\n    def __init__(self, *args): self.args = args\n    def run(self): return {WORK}(*self.args)",
    "(lambda *args: Work(*args).run())",
)
_around(
    "generator", f"def steps(*args):\n    yield None\n    yield {WORK}(*args)", "(lambda *args: list(steps(*args))[1])"
)
_around("default_argument", f"def own_work(*args, how={WORK}): return how(*args)", "own_work")
_around(
    "pickled_state",
    "import pickle\nclass Work:\n    def __init__(self, name): self.name = name\n"
    f"    def run(self, *args): return {WORK}(*args)",
    "pickle.loads(pickle.dumps(Work('w'))).run",
)
_around(
    "singledispatch",
    "from functools import singledispatch\n@singledispatch\ndef way(kind): raise TypeError(kind)\n"
    f"@way.register\ndef _(kind: int): return {WORK}\nown_work = way(0)",
    "own_work",
)
_around(
    "init_subclass",
    "class Base:\n    known = {}\n    def __init_subclass__(cls): Base.known[cls.__name__] = cls\n"
    f"class Mine(Base):\n    own_work = staticmethod({WORK})",
    "Base.known['Mine'].own_work",
)
_around(
    "numpy_scalars",
    "import numpy as np\ndef plain(value):\n"
    "    if type(value) in (list, tuple): return type(value)(map(plain, value))\n"
    "    return {int: np.int64, float: np.float64}.get(type(value), lambda same: same)(value)",
    f"(lambda *args: plain({WORK}(*args)))",
)


_around(
    "in_a_pool",
    "from concurrent.futures import ThreadPoolExecutor\ndef pooled(*args):\n"
    f"    with ThreadPoolExecutor(2) as pool:\n        return pool.submit({WORK}, *args).result()",
    "pooled",
)
_around(
    "in_a_task",
    f"import asyncio\nasync def later(*args): return await asyncio.to_thread({WORK}, *args)\n"
    "def now(*args):\n    loop = asyncio.new_event_loop()\n    try:\n"
    "        return loop.run_until_complete(later(*args))\n    finally:\n        loop.close()",
    "now",
)


@_rule
def assigned_in_a_chain(cells: list[str], function: str) -> list[str]:
    return [*_renamed(cells, {function: WORK}), f"first = {function} = {WORK}"]


@_rule
def put_among_globals(cells: list[str], function: str) -> list[str]:
    return [*_renamed(cells, {function: WORK}), f"globals()['{function}'] = {WORK}"]


@_rule
def made_by_a_function(cells: list[str], function: str) -> list[str]:
    made = f"def make(own_work):\n    def {function}(*args):\n        return own_work(*args)\n    return {function}\n"
    return [*_renamed(cells, {function: WORK}), f"{made}({function} := make({WORK}))"]

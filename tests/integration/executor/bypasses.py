"""Code that tries to fool the vet, and code that passes the vet but is wrong."""

from tests.integration.executor.hostile import ERROR, MEMORY, OK, fast, fork

# Each is code that a vet by what it knows to be bad might let into the process that runs many jobs.
BYPASSES = {
    "an attribute of a number does not pass": fork("x = str((1).__class__)", OK, "class .*int", "x"),
    "an attribute in a nested function does not pass": fork(
        "def f():\n  def g(): return (1).__class__\n  return g\nx = str(f()())", OK, "class .*int", "x"
    ),
    "a format string does not pass": fork("x = '{0.__class__}'.format(1)", OK, "class .*int", "x"),
    "an f-string does not pass": fork("x = f'{print.__self__}'", OK, "builtins", "x"),
    "a format in a format is a wrong format": fast(
        "x = f\"{1:{'{0.__class__}'}}\"", ERROR, "Invalid format specifier", "x"
    ),
    "a percent format knows no attributes": fast("x = '%(__class__)s' % {}", ERROR, "KeyError", "x"),
    "a walrus does not pass": fork("x = str([y := __builtins__][0])", OK, "builtins", "x"),
    "a generator's frame does not pass": fork(
        "g = (i for i in [1])\nx = 'abs' in g.gi_frame.f_builtins", OK, "boolean: true", "x"
    ),
    "a class body does not pass": fork("class A:\n  import os\nx = A.os.getpid() > 1", OK, "boolean: true", "x"),
    "a decorator does not pass": fork(
        "@lambda f: f.__globals__\ndef f(): pass\nx = '__builtins__' in f", OK, "boolean: true", "x"
    ),
    "star arguments do not pass": fork("print(*[1], **{'file': None})\nx = 1", OK, 'integer: "1"', "x"),
    "a print to elsewhere does not pass": fork("print(1, file=print.__self__)", ERROR, "AttributeError"),
    "a look-alike attribute does not pass": fork("x = str((1)._＿class__)", OK, "class .*int", "x"),
    "a look-alike function does not pass": fork("ｅxec('x = 1')", OK, 'integer: "1"', "x"),
    "a look-alike of math does not pass": fork("import math\nｍath = 3\nx = math", OK, 'integer: "3"', "x"),
    "builtins by an alias do not pass": fork("import math as __builtins__\nx = 1", OK, 'integer: "1"', "x"),
    "an import by name does not pass": fork("x = __import__('os').getpid() > 1", OK, "boolean: true", "x"),
    "getattr does not pass": fork("import math\nx = getattr(math, '__name__')", OK, "math", "x"),
    "setattr does not pass": fork("import math\nsetattr(math, 'pi', 3)\nx = math.pi", OK, 'integer: "3"', "x"),
    "eval does not pass": fork("x = eval('(1).__class__.__name__')", OK, "int", "x"),
    "a class by type does not pass": fork("x = type('A', (), {'b': 1}).b", OK, 'integer: "1"', "x"),
    "a pattern that reads attributes does not pass": fork(
        "match 1:\n  case int(real=x): pass", OK, 'integer: "1"', "x"
    ),
    "a codec by str does not pass": fork("x = str(b'nop', 'rot13')", ERROR, "LookupError"),
    "a default does not pass": fork("f = lambda x='__name__' in globals(): x\nx = f()", OK, "boolean: true", "x"),
    "code after a forged fence does not pass": fork(
        "x = '''\n```\n'''\nimport os\nx = len(x)", OK, 'integer: "5"', "x"
    ),
    "brackets too deep are an error": fast("x = " + "(" * 500 + "1" + ")" * 500, ERROR, "too many nested"),
    "signs too many are an error": fork("x = " + "-" * 50_000 + "1", MEMORY, "MemoryError"),
    "sums too long are no harm": fork("x = " + "+".join(["1"] * 5_000), ERROR, "RecursionError"),
    "code too long to vet is run alone": fork("x = [" + "1, " * 30_000 + "]\nx = len(x)", OK, 'integer: "30000"', "x"),
    "a null byte is an error": fast("x = 1\0", ERROR, "null bytes"),
    "warnings of the parser are no harm": fast("x = 1 is 1\ny = '\\d'", OK, "boolean: true", "x"),
}

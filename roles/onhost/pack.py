"""This folder -> one file that any Python 3.8+ runs. Stays at home: it is not in the file itself."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).parent
STAY = ("pack.py", "bring.py")
FIRST = """\
import os, sys
if sys.version_info < (3, 8):
    sys.stdout.write('{"f": "error", "code": "missing", "message": "Python %d.%d runs the on-host program: 3.8 or '
                     'later is needed", "do": "correct `python` of this host in the inventory"}\\n'
                     % sys.version_info[:2])
    sys.stdout.flush()
    os._exit(1)
archive = os.path.dirname(os.path.abspath(__file__))
if archive.endswith(".pyz") and not os.path.isdir(archive + ".d"):
    from onhost.unpack import unpack
    unpack(archive, archive + ".d")
    for name in [name for name in sys.modules if name.partition(".")[0] == "onhost"]:
        del sys.modules[name]
if os.path.isdir(archive + ".d"):
    sys.path[0] = archive + ".d"
from onhost.__main__ import main
os._exit(main())
"""  # understood by every Python, so that an old one can say so

# What Python is told by -c, with the file and the words for it. Where the file is missing it says so, drops the request
# that it was sent, and does what the next line says (bringing()). Then straight into the unpacked folder where that is
# there: a zip file is run by way of zipimport and runpy, which takes 6 ms more. Nothing that is loaded becomes garbage,
# and looking for some takes 3 ms: carry_out() turns that on again.
RUN = (
    'import gc, os, sys; gc.disable(); p = sys.argv.pop(1); i = open(0, "rb", 0, closefd=False); os.path.exists(p) or '
    '(os.write(1, __import__("json").dumps({"f": "missing"}).encode() + bytes([10])), i.readline(), '
    "exec(i.readline())); "
    'sys.version_info >= (3, 8) and os.path.isdir(p + ".d") or '
    'os.execv(sys.executable, [sys.executable, "-I", "-S", p] + sys.argv[1:]); sys.path.append(p + ".d"); '
    "from onhost.__main__ import main; os._exit(main())"
)


def bringing() -> bytes:
    """The answer to a host that says `missing`: one line that is carried out there, then the program's bytes."""
    how, program = (HERE / "bring.py").read_text(), pack()
    digest = hashlib.sha256(program).hexdigest()
    return f"exec({how!a}); bring(i, p, {len(program)}, {digest!r})\n".encode() + program


@lru_cache(maxsize=1)
def sources() -> tuple[tuple[str, bytes], ...]:
    """(name in the file, content), sorted."""
    modules = [(f"onhost/{path.name}", path.read_bytes()) for path in HERE.glob("*.py") if path.name not in STAY]
    return tuple(sorted([("__main__.py", FIRST.encode()), *modules]))


@lru_cache(maxsize=1)
def pack() -> bytes:
    """The program's bytes: the same sources give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sources():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # the same on every system
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    return out.getvalue()


@lru_cache(maxsize=1)
def content_hash() -> str:
    """12 hex digits over the sources, not over the packed bytes: those depend on the zlib that made them."""
    digest = hashlib.sha256()
    for name, content in sources():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]

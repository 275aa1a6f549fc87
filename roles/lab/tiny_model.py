"""Makes the lab's model from nothing: a Llama of a few hundred KB with a byte-level tokenizer. Run by the lab's Python.

Only its shape is real: SGLang fills it with random weights (load_format dummy). Eight layers and eight heads, so that
every layout up to tp 8 or pp 8 divides it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
TEXT = "one rank answers, two ranks answer, every rank has answered: the deployment is up"
CHAT = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}[assistant]"
SHAPE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 16,
    "vocab_size": 512,
    "max_position_embeddings": 1024,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}


def main(folder: Path) -> None:
    parts = importlib.import_module("tokenizers")
    byte_level = parts.pre_tokenizers.ByteLevel
    tokenizer = parts.Tokenizer(parts.models.BPE())
    tokenizer.pre_tokenizer = byte_level(add_prefix_space=False)
    tokenizer.decoder = parts.decoders.ByteLevel()
    trainer = parts.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=byte_level.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    fast = importlib.import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)
    fast.chat_template = CHAT
    fast.save_pretrained(str(folder))
    (folder / "config.json").write_text(json.dumps(SHAPE, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Records with four scored passages of 60 words, an answer, and the document that holds it, one a line:

    python3 tests/scale/scored.py 400000 > scored.jsonl      # 685 MB
"""
import json
import random
import sys

random.seed(7)
WORDS = (
    "the ferry harbour leaves at nine and noon pump hall valve ticket costs boat engine oil level water gate winter "
    "summer early late line island tide anchor crew captain deck bell"
).split()
for number in range(int(sys.argv[1])):
    right = random.choices(range(4), [6, 2, 1, 1])[0]
    contexts = []
    for rank in range(4):
        text = " ".join(random.choices(WORDS, k=60))
        score = 0.95 - 0.1 * rank + random.random() * 0.08
        document = f"d{number}" if rank == right else f"x{random.randrange(9**6)}"
        contexts.append({"text": text, "document": document, "score": round(score, 5)})
    record = {
        "id": f"q{number}",
        "question": f"When does ferry {number} leave?",
        "contexts": contexts,
        "source_ids": [f"d{number}"],
        "answer": "It leaves at nine.",
    }
    print(json.dumps(record))

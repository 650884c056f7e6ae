"""Writes field.json: arithmetic modulo 2^255 - 19 by Python's integers, on numbers given as five limbs of 51 bits.

    python3 field.py > field.json
"""
import json
import random

P = 2**255 - 19
random.seed(25519)


def value(limbs):
    return sum(limb << (51 * place) for place, limb in enumerate(limbs))


def limbs(number):
    return [number >> (51 * place) & (2**51 - 1) for place in range(5)]


# The bounds that the code states for its operands.
TIGHT, FACTOR = 2**51 + 2**14 - 1, 2**54 - 1
SUBTRAHEND = [2**52 - 38] + [2**52 - 2] * 4
SUM_SUBTRAHEND = [2**53 - 76] + [2**53 - 4] * 4

numbers = [limbs(n) for n in (0, 1, 2, 18, 19, 20, P - 2, P - 1, P, P + 1, P + 18, 2**255 - 1, 2**254, 2**204 - 1, P // 2)]
numbers += [[TIGHT] * 5, [FACTOR] * 5, SUBTRAHEND, SUM_SUBTRAHEND]
numbers += [[0, 0, 0, 0, FACTOR], [FACTOR, 0, 0, 0, 0], [2**51 - 19, 2**51 - 1, 2**51 - 1, 2**51 - 1, 2**51 - 1]]
numbers += [limbs(random.randrange(P)) for _ in range(20)]
numbers += [[random.randrange(TIGHT + 1) for _ in range(5)] for _ in range(10)]
numbers += [[random.randrange(FACTOR + 1) for _ in range(5)] for _ in range(10)]

ones = [{"x": x, "canonical": limbs(value(x) % P), "squared": limbs(value(x) ** 2 % P),
         "power": limbs(pow(value(x), (P - 5) // 8, P))} for x in numbers]

edges = [limbs(n) for n in (1, P - 1, P, 2**255 - 1)] + [[TIGHT] * 5, [FACTOR] * 5, SUBTRAHEND, SUM_SUBTRAHEND]
pairs = [(x, y) for x in edges for y in edges]
pairs += [(random.choice(numbers), random.choice(numbers)) for _ in range(100)]
twos = []
for x, y in pairs:
    two = {"x": x, "y": y, "sum": limbs((value(x) + value(y)) % P), "product": limbs(value(x) * value(y) % P)}
    difference = limbs((value(x) - value(y)) % P)
    if all(a <= b for a, b in zip(y, SUBTRAHEND)):
        two["difference"] = difference
    if all(a <= b for a, b in zip(y, SUM_SUBTRAHEND)):
        two["minusSum"] = difference
    twos.append(two)

print("{\"ones\": [")
print(",\n".join(json.dumps(one, separators=(",", ":")) for one in ones))
print("], \"twos\": [")
print(",\n".join(json.dumps(two, separators=(",", ":")) for two in twos))
print("]}")

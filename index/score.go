package index

import (
	"math/bits"

	"longmemory.dev/lm/vault"
)

// tellingTerms is how many terms of a query are searched for.
const tellingTerms = 32

// maxFrequency is where a term that is repeated in an asset stops to count.
const maxFrequency = 1000

// collection is what relevance has to know of all approved assets together.
type collection struct {
	size    int64 // N, their number
	average int64 // A: sixteen times the average length, rounded
}

func newCollection(documents, length int64) collection {
	if documents == 0 {
		return collection{}
	}
	return collection{size: documents, average: (32*length + documents) / (2 * documents)}
}

// idf is 1,000,000 times the natural logarithm of 1 + (N-df+½)/(df+½), rounded:
// how much a term tells that occurs in df documents. One that occurs in none
// tells nothing.
func (c collection) idf(df int64) int64 {
	if df <= 0 || df > c.size {
		return 0
	}
	// 1 + (N-df+½)/(df+½) is (2N+2)/(2df+1).
	return millionLn(uint64(2*c.size+2), uint64(2*df+1))
}

// queryWeight is ⌊√(10000·frequency)⌋ of a term's frequency in the query.
func queryWeight(frequency int64) int64 { return int64(isqrt(10000 * uint64(frequency))) }

// contribution is what a term adds to a document of the given length in which
// it occurs frequency times: BM25 with k1 = 2 and b = 0.9, in integers.
func (c collection) contribution(idf, weight, frequency, length int64) int64 {
	frequency = min(frequency, maxFrequency)
	tfA := uint64(frequency) * uint64(c.average)
	if tfA == 0 {
		return 0
	}
	hi, lo := bits.Mul64(30*uint64(idf), tfA)
	// The quotient is at most 3·idf, so it fits.
	quotient, _ := bits.Div64(hi, lo, 10*tfA+2*uint64(c.average)+288*uint64(length))
	return weight * int64(quotient) / 100
}

// best is what no contribution of a term exceeds.
func best(idf, weight int64) int64 { return 3 * weight * idf / 100 }

// relevance is the share that a sum of contributions has of the best sum.
func relevance(sum, best int64) vault.Ratio {
	if best == 0 {
		return 0
	}
	return vault.Ratio(int64(vault.One) * sum / best)
}

// ln2 is the natural logarithm of 2 with 56 binary places.
const ln2 = 0xb17217f7d1cf7a

// millionLn is 1,000,000·ln(a/b), rounded, for a ≥ b > 0 below 2⁶⁰. It works
// with 56 binary places: a/b is brought below 2 by halving, and there
// ln(x) = 2·(z + z³/3 + z⁵/5 + …) with z = (x-1)/(x+1), at most 1/3.
func millionLn(a, b uint64) int64 {
	halvings := uint64(0)
	for a >= 2*b {
		b *= 2
		halvings++
	}
	// z = (a-b)/(a+b) with 56 places.
	hi, lo := (a-b)>>8, (a-b)<<56
	z, _ := bits.Div64(hi, lo, a+b)
	square := mul56(z, z)
	sum := uint64(0)
	for power, n := z, uint64(1); power > 0; power, n = mul56(power, square), n+2 {
		sum += power / n
	}
	hi, lo = bits.Mul64(halvings*ln2+2*sum, 1000000)
	lo, carry := bits.Add64(lo, 1<<55, 0)
	hi += carry
	return int64(hi<<8 | lo>>56)
}

// mul56 multiplies two numbers with 56 binary places.
func mul56(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi<<8 | lo>>56
}

// isqrt is ⌊√n⌋.
func isqrt(n uint64) uint64 {
	root := uint64(0)
	for bit := uint64(1) << 31; bit > 0; bit >>= 1 {
		if next := root | bit; next*next <= n {
			root = next
		}
	}
	return root
}

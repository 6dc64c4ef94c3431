package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

func TestRelevanceVectors(t *testing.T) {
	for _, v := range []struct {
		n, s, a, df, tf, length, query           int64
		idf, weight, contribution, best, correct int64
	}{
		{4, 100, 400, 1, 3, 20, 1, 1203973, 100, 2335292, 3611919, 6465},
		{5000, 4200000, 13440, 37, 2, 1310, 2, 4893052, 141, 8267233, 20697609, 3994},
		{5000, 4200000, 13440, 4999, 50, 90, 1, 300, 100, 892, 900, 9911},
		{1, 7, 112, 1, 1, 7, 1, 287682, 100, 287682, 863046, 3333},
		{100000, 31000000, 4960, 1, 12, 40, 9, 11107470, 300, 96491460, 99967230, 9652},
		{3, 1000, 5333, 2, 5000, 9000, 1, 470004, 100, 1344401, 1410012, 9534},
	} {
		c := newCollection(v.n, v.s)
		if c.average != v.a {
			t.Errorf("N %d, S %d: A is %d, want %d", v.n, v.s, c.average, v.a)
		}
		idf := c.idf(v.df)
		if idf != v.idf {
			t.Errorf("N %d, df %d: idf is %d, want %d", v.n, v.df, idf, v.idf)
		}
		weight := queryWeight(v.query)
		if weight != v.weight {
			t.Errorf("%d in the query: w is %d, want %d", v.query, weight, v.weight)
		}
		contribution := c.contribution(idf, weight, v.tf, v.length)
		if contribution != v.contribution {
			t.Errorf("N %d, df %d: contribution is %d, want %d", v.n, v.df, contribution, v.contribution)
		}
		if got := best(idf, weight); got != v.best {
			t.Errorf("N %d, df %d: best is %d, want %d", v.n, v.df, got, v.best)
		}
		if got := relevance(contribution, best(idf, weight)); got != vault.Ratio(v.correct) {
			t.Errorf("N %d, df %d: relevance is %d, want %d", v.n, v.df, got, v.correct)
		}
	}
}

func TestIDFIsTheLogarithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<31).Draw(t, "N")
		df := rapid.Int64Range(1, n).Draw(t, "df")
		got := newCollection(n, n).idf(df)
		exact := 1000000 * math.Log1p((float64(n-df)+0.5)/(float64(df)+0.5))
		// Half a unit of rounding, and what a float64 is off.
		if math.Abs(float64(got)-exact) > 0.5+1e-7 {
			t.Fatalf("N %d, df %d: %d, the logarithm is %f", n, df, got, exact)
		}
	})
}

func TestIDFAtTheEdges(t *testing.T) {
	c := newCollection(10, 100)
	if c.idf(0) != 0 || c.idf(11) != 0 || newCollection(0, 0).idf(0) != 0 {
		t.Error("a term in no document tells something")
	}
	for df := int64(1); df < 10; df++ {
		if c.idf(df) <= c.idf(df+1) {
			t.Errorf("df %d tells no more than df %d", df, df+1)
		}
	}
}

func TestSquareRoot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		n := r.Uint64() >> r.IntN(64)
		root := isqrt(n)
		if root*root > n || (root < math.MaxUint32 && (root+1)*(root+1) <= n) {
			t.Fatalf("⌊√%d⌋ is not %d", n, root)
		}
	}
}

// No contribution may exceed its best, or a relevance would exceed 1.
func TestContributionIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<24).Draw(t, "N")
		c := newCollection(n, rapid.Int64Range(0, n<<20).Draw(t, "S"))
		idf := c.idf(rapid.Int64Range(1, n).Draw(t, "df"))
		weight := queryWeight(rapid.Int64Range(1, 1<<17).Draw(t, "frequency in the query"))
		frequency := rapid.Int64Range(1, 1<<31).Draw(t, "tf")
		length := rapid.Int64Range(0, 1<<31).Draw(t, "length")
		got := c.contribution(idf, weight, frequency, length)
		if got < 0 || got > best(idf, weight) {
			t.Fatalf("contribution %d of at best %d", got, best(idf, weight))
		}
		if more := c.contribution(idf, weight, frequency+1, length); more < got {
			t.Fatalf("%d for %d, only %d for one more", got, frequency, more)
		}
	})
}

// Package index builds, opens and searches the static index of a vault, from
// which a loadout is answered without Git, YAML or tokenizer. It is the only
// package that knows Bleve.
//
// # Key
//
// An index is a function of its key: the tree id of the vault's folder, that of
// the memory branch, the versions of Format and Analyzer, and what the caller
// says of its renderer and tokenizer (KeyOf). It is never updated. Another
// snapshot has another key, and so another index beside it.
//
// # Files
//
// An index is a folder, named by its key, under a root that the caller chooses:
//
//	<key>/manifest   names, sizes and CRC-32C of the others, and its own
//	<key>/catalog    the governed facts of each asset, what each of its forms
//	                 costs, and where its text and its forms lie
//	<key>/N.zap      a Bleve segment: dictionary, postings, frequencies
//	<key>/N.forms    rendered forms, each with its own CRC-32C
//	tmp-…/           an index in the making, or on its way out
//
// Only approved assets have their text in a segment, expired ones too. The
// segments are those of Bleve's zap format, made and read without Bleve's own
// index on top. That one would add a database with locks, goroutines and
// milliseconds of start, to keep what the catalog keeps: which document of
// which segment is which asset, and which is none any more.
//
// Build writes into a temporary folder, verifies it by opening it, and renames
// it into place. So a reader, who takes no lock and writes nothing, sees all or
// nothing. Where an index is near, the next one derives from it: it shares its
// files by hard links, has one segment more for what changed, and passes over
// the documents that are no asset's any more. From time to time segments are
// merged. What an index answers never depends on how it came to be.
//
// # Damage
//
// Open reads and verifies everything but the forms, which are the bulk of an
// index, and of which a loadout prints a few. Each is verified when it is read.
// Damage is thus found before it can show in an answer: by Open as the status
// Damaged, by Form as an error that wraps ErrDamaged. A key without an index is
// Missing, or Stale if there are others, or OldFormat if these are another
// version's. Build mends all of these.
//
// # Text
//
// A text is searched by one field: the name three times, the description twice,
// labels and body once. Words are brought to lower case, compatibility form and
// their English stem, and lose accents; English stop words are left out. An identifier counts as a
// whole and by its parts, however it is written: resolveLoadout,
// resolve_loadout and resolve-loadout are the terms resolveloadout, resolve and
// loadout. Ideographs count by overlapping pairs. The length of a text is the
// number of its words and pairs; parts make it no longer.
//
// # Relevance
//
// Relevance is BM25 with k1 = 2 and b = 0.9 over Bleve's postings, in integers,
// so that it is the same on every machine and for every way of building. With N
// approved assets of the total length S, a term in df of them, tf times in one
// of the length len, and f times in the query:
//
//	A            = round(16·S / N)
//	idf          = round(1000000 · ln(1 + (N-df+½)/(df+½)))
//	w            = ⌊√(10000·f)⌋
//	contribution = ⌊w · ⌊30·idf·tf·A ÷ (10·tf·A + 2·A + 288·len)⌋ ÷ 100⌋, tf at most 1000
//	best         = ⌊3·w·idf ÷ 100⌋
//	relevance    = ⌊10000 · Σ contribution ÷ Σ best⌋, 0 without terms
//
// Of the terms of a query the 32 count that tell most: those with the highest
// idf·√f that occur in an approved asset, ties by term. All assets are ranked
// and none is cut off.
package index

// Order of the results of the search: titles with all words of the query first, guides before decisions and logs.
var Scorer = {
  score: ([page, title, , , score]) => {
    const words = (new URLSearchParams(window.location.search).get("q") ?? "").toLowerCase().split(/\W+/).filter(Boolean);
    const found = words.filter((word) => title.toLowerCase().includes(word.replace(/s$/, ""))).length;
    const guide = /^(guides\/|tutorial|which_method|gallery\/|labeling)/.test(page);
    const record = /^(decisions|changelog|releasing|benchmarks|reproduction\/)/.test(page);
    return score + (20 * found) / Math.max(1, words.length) + (guide ? 4 : 0) - (record ? 10 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

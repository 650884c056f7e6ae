// Where lines stand on the page. `args` are the folder of the modules.
const [folder] = args;
const { Text } = await import(`${folder}/text.js`);

const faults = [];
const same = (what, one, other) => {
  if (JSON.stringify(one) !== JSON.stringify(other)) faults.push(`${what}: ${JSON.stringify(one)}, not ${JSON.stringify(other)}`);
};
const past = document.querySelector("#past");
const shown = () => [...past.children].map(({ dataset, textContent }) => dataset.line ? `${dataset.line} ${textContent}` : `(${dataset.missing})`);

const text = new Text();
text.line(1, "one");
text.missing(2, 6);
text.line(7, "seven");
same("a run", shown(), ["1 one", "(2-6)", "7 seven"]);
same("its words", past.children[1].textContent, "5 lines are missing.");
text.line(4, "four");
same("in the middle", shown(), ["1 one", "(2-3)", "4 four", "(5-6)", "7 seven"]);
text.line(2, "two");
text.line(6, "six");
same("at both ends", shown(), ["1 one", "2 two", "(3)", "4 four", "(5)", "6 six", "7 seven"]);
text.order = "top";
same("newest on top", shown(), ["7 seven", "6 six", "(5)", "4 four", "(3)", "2 two", "1 one"]);
text.line(5, "five");
text.line(8, "");
text.missing(9, 9);
same("and on", shown(), ["(9)", "8 ", "7 seven", "6 six", "5 five", "4 four", "(3)", "2 two", "1 one"]);
text.order = "bottom";
text.line(3, "three");
same("back again", shown(), ["1 one", "2 two", "3 three", "4 four", "5 five", "6 six", "7 seven", "8 ", "(9)"]);

// A line that never came may come before those that wait for it.
text.clear();
text.line(3, "three");
text.line(1, "one");
text.line(2, "two");
same("out of order", shown(), ["1 one", "2 two", "3 three"]);

text.began();
same("another stream", shown(), []);
same("what was before", [...document.querySelector("#earlier").children].map((line) => line.textContent), ["one", "two", "three"]);
for (let number = 1; number <= 5_010; number += 1) text.line(number, "x");
same("bounded", [past.childElementCount, past.firstElementChild.dataset.line], [5_000, "11"]);

text.clear();
text.line(1, "see https://a.example/x?y=1, (http://b.example/) and javascript:alert(1) ftp://c.example");
same("links", [...past.querySelectorAll("a")].map((link) => link.getAttribute("href")), ["https://a.example/x?y=1", "http://b.example/"]);
same("words around them", past.textContent, "see https://a.example/x?y=1, (http://b.example/) and javascript:alert(1) ftp://c.example");
return faults;

// The editor of plans. What is right or wrong with a text is said by the server, at each pause in typing.
const at = (id) => document.getElementById(id);
const text = at("text");
const name = at("name");
const PAUSE_MS = 500;

// The text as it was opened or saved, and the digest of the file that it may replace.
let kept = "";
let digest = "";
let timer = 0;
let checking = false;
let again = false;

async function ask(path, sent) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(sent),
  });
  const type = answer.headers.get("Content-Type") || "";
  if (type.startsWith("application/json")) return answer.json();
  throw new Error(answer.status === 403 ? "The address with the token has to be opened again." : "The server failed.");
}

function say(words, bad = false) {
  at("said").textContent = words;
  at("said").classList.toggle("bad-text", bad);
}

function sentence({ what, where, hint }) {
  return [`${what}${where ? ` (${where})` : ""}`, hint].filter(Boolean).join(": ");
}

// While something is asked, whoever asked it waits; what went wrong is a sentence.
async function doing(button, work) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    say(error instanceof TypeError ? "bakeoff serve does not answer." : error.message, true);
  } finally {
    button.disabled = false;
  }
}

function number(wrong) {
  const count = text.value.split("\n").length;
  const lines = Array.from({ length: count }, (_, i) => {
    const line = document.createElement("span");
    line.textContent = `${i + 1}\n`;
    line.className = i + 1 === wrong ? "wrong" : "";
    return line;
  });
  at("lines").replaceChildren(...lines);
  at("lines").scrollTop = text.scrollTop;
}

function changed() {
  number();
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE_MS);
}

async function check(asking = false) {
  if (checking) {
    again = true;
    return;
  }
  checking = true;
  const checked = text.value;
  try {
    if (!checked.trim()) {
      at("summary").textContent = "Nothing to check yet.";
      at("found").replaceChildren();
      text.removeAttribute("aria-invalid");
      return;
    }
    const answer = await ask("/plan/check", { text: checked, name: name.value, asking: asking === true });
    if (answer.error) throw new Error(sentence(answer.error));
    if (text.value !== checked) return; // the pause after this change is still to come
    at("summary").textContent = answer.summary;
    at("summary").classList.toggle("bad-text", !answer.valid);
    at("found").innerHTML = answer.found;
    text.setAttribute("aria-invalid", String(!answer.valid));
    number(answer.line);
  } catch (error) {
    at("summary").textContent = error instanceof TypeError ? "bakeoff serve does not answer." : error.message;
    at("found").replaceChildren();
  } finally {
    checking = false;
    if (again) {
      again = false;
      check();
    }
  }
}

function open(opened) {
  text.value = opened.text;
  kept = opened.text;
  digest = opened.digest || "";
  if (opened.name) name.value = opened.name;
  at("replace").hidden = true;
  at("ask").open = false;
  text.focus();
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
  say(digest ? `Opened ${opened.name}: saving replaces it.` : "");
  number();
  check();
}

const mayReplace = () => text.value === kept || confirm("The text was changed and not saved. Replace it?");

async function save(replaces) {
  const sent = text.value;
  const answer = await ask("/plan/save", { text: sent, name: name.value, replaces });
  at("replace").hidden = !answer.exists;
  if (answer.error) {
    at("replace").dataset.digest = answer.exists || "";
    say(sentence(answer.error), true);
    return false;
  }
  kept = sent;
  digest = answer.digest;
  say(`Saved ${answer.name}.`);
  return true;
}

at("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!mayReplace()) return;
  doing(event.submitter, async () => {
    const from = at("from").value;
    const answer = from ? await ask("/plan/open", { from }) : { text: "", name: "my.toml" };
    if (answer.error) say(sentence(answer.error), true);
    else open(answer);
  });
});

at("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!mayReplace()) return;
  const said = new FormData(event.target);
  const sent = { ...Object.fromEntries(said), systems: said.getAll("systems") };
  doing(event.submitter, async () => {
    const answer = await ask("/plan/questions", sent);
    if (answer.error) say(sentence(answer.error), true);
    else open(answer);
  });
});

at("questions").elements.workload.addEventListener("change", (event) => {
  at("unit").textContent = event.target.selectedOptions[0].dataset.unit;
});

at("file").addEventListener("submit", (event) => {
  event.preventDefault();
  doing(at("save"), () => save(digest));
});

at("replace").addEventListener("click", () => doing(at("replace"), () => save(at("replace").dataset.digest)));

at("run").addEventListener("click", () => doing(at("run"), async () => {
  if (!at("file").reportValidity() || !(await save(digest))) return;
  say("Starting …");
  const wanted = { together: at("together").checked, disturbed: at("disturbed").checked };
  const answer = await ask("/plan/run", { name: name.value, digest, ...wanted });
  if (answer.error) say(sentence(answer.error), true);
  else if (answer.address) location.assign(answer.address);
  else say(answer.waits);
}));

// Another file is another one to ask about.
name.addEventListener("input", () => {
  digest = "";
  at("replace").hidden = true;
  changed();
});

text.addEventListener("input", changed);
text.addEventListener("scroll", () => { at("lines").scrollTop = text.scrollTop; });

at("found").addEventListener("click", (event) => {
  if (event.target.id === "look") doing(event.target, () => check(true));
  const line = Number(event.target.dataset.line);
  if (!line) return;
  const before = text.value.split("\n").slice(0, line - 1).join("\n").length;
  const start = line > 1 ? before + 1 : 0;
  const end = text.value.indexOf("\n", start);
  text.focus();
  text.setSelectionRange(start, end < 0 ? text.value.length : end);
  text.scrollTop = Math.max(0, (line - 5) * (text.scrollHeight / text.value.split("\n").length));
});

window.addEventListener("beforeunload", (event) => {
  if (text.value !== kept) event.preventDefault();
});

changed();

// The page of a plan that goes on: each event is its new body. At the end it becomes the report.
const going = document.getElementById("going");
if (going) {
  follow(going, (body) => { going.innerHTML = body; });
}

// What is being installed: each event is all that it has said. At the end the list is another.
for (const said of document.querySelectorAll("pre.install")) {
  const show = (words) => {
    said.textContent = words;
    said.scrollTop = said.scrollHeight;
  };
  show(said.textContent);
  if (said.dataset.events) follow(said, show);
}

function follow(shown, show) {
  const source = new EventSource(shown.dataset.events);
  source.onmessage = (event) => {
    shown.classList.remove("lost");
    show(event.data);
  };
  source.addEventListener("end", () => {
    source.close();
    location.reload();
  });
  source.onerror = () => shown.classList.add("lost");
}

// The page of a plan that goes on: each event is its new body. At the end it becomes the report.
const going = document.getElementById("going");
if (going) {
  const source = new EventSource(going.dataset.events);
  source.onmessage = (event) => {
    going.classList.remove("lost");
    going.innerHTML = event.data;
  };
  source.addEventListener("end", () => {
    source.close();
    location.reload();
  });
  source.onerror = () => going.classList.add("lost");
}

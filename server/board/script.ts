/**
 * The script of a board. What comes is HTML that the server made of escaped texts; the page's policy runs no other
 * script than this one. It connects again by itself, and says how old what it shows is once it has heard nothing.
 */
export const silent_after_millis = 40_000
export const board_script = `"use strict";
(() => {
  const day = document.getElementById("day"), lost = document.getElementById("lost");
  const zone = document.body.dataset.zone;
  const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", timeZone: zone});
  let heard = Date.now(), shown = Date.now(), tries = 0, source, ended = false, timer;
  const tick = () => {
    const clock = document.getElementById("clock");
    if (clock !== null) clock.textContent = time.format(new Date());
    const silent = Date.now() - heard > ${silent_after_millis};
    lost.hidden = ended || !silent;
    const minutes = Math.floor((Date.now() - heard) / 60000);
    if (silent) lost.textContent = "No connection. As of " + time.format(heard) +
      (minutes < 1 ? "" : ", " + minutes + (minutes === 1 ? " minute" : " minutes") + " ago");
  };
  const hear = () => { heard = Date.now(); tries = 0; tick(); };
  const open = () => {
    clearTimeout(timer);
    source = new EventSource(location.pathname + "/stream");
    source.addEventListener("day", (event) => {
      day.innerHTML = JSON.parse(event.data);
      if (shown !== 0 && Date.now() - shown > 2000) {
        day.classList.remove("new"); void day.offsetWidth; day.classList.add("new");
      }
      shown = Date.now();
      hear();
    });
    source.addEventListener("alive", hear);
    source.addEventListener("ended", (event) => {
      ended = true; day.innerHTML = JSON.parse(event.data); source.close(); again(); tick();
    });
    source.addEventListener("open", () => { ended = false; hear(); });
    source.onerror = () => { if (source.readyState === 2) again(); tick(); };
  };
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(open, Math.min(60000, 2000 * 2 ** Math.min(5, tries++)) * (0.5 + Math.random() / 2));
  };
  setInterval(tick, 1000);
  tick();
  open();
})();`

/* Browsers start no worker in a page that is opened from a folder. There the search runs in a frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>
        self.importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((ok, no) => {
          const script = Object.assign(document.createElement("script"), {src: url, onload: ok, onerror: no});
          document.body.append(script);
        })), Promise.resolve());
        self.postMessage = (data) => parent.dispatchEvent(new CustomEvent("worker", {detail: data}));
      <\/script><body><script src="${new URL(url, location)}"><\/script></body>`;
      document.body.append(frame);
      frame.onload = () => {
        this.frame = frame;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      addEventListener("worker", (event) => {
        const message = new MessageEvent("message", {data: event.detail});
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
    }
    postMessage(data) {
      if (!this.frame) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", {data}));
    }
    terminate() { this.frame && this.frame.remove(); }
  };
}

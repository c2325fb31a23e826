// @ts-check
/** @import { Inbox } from "./inbox.js" */

import { byId, setAttribute, setText, show } from "./elements.js";
import { tally } from "./inbox.js";

const SIZE = 64;

/** Shows how much needs the person: title, favicon and tab, all from `tally`. */
export class Badge {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.canvas.width = SIZE;
    this.canvas.height = SIZE;
    this.drawn = "";
  }

  /** @param {Inbox} inbox */
  update(inbox) {
    const { needs_me: count } = tally(inbox);
    const away = inbox.link.live ? "" : "Not connected · ";
    const number = count > 0 ? `(${count}) ` : "";
    const machine = inbox.node ? ` · ${inbox.node.machine.name}` : "";
    const title = `${away}${number}askmesh${machine}`;
    if (document.title !== title) document.title = title;
    const tab = byId("tab-count");
    setText(tab, String(count));
    show(tab, count > 0);
    setAttribute(byId("tab-inbox"), "aria-label", count > 0 ? `Inbox, ${count} need you` : "Inbox");
    this.draw(count, inbox.link.live);
  }

  /** @param {number} count @param {boolean} live */
  draw(count, live) {
    const text = count > 99 ? "99+" : String(count);
    const key = `${text} ${live}`;
    if (key === this.drawn) return;
    this.drawn = key;
    const pen = this.canvas.getContext("2d");
    if (pen === null) return;
    pen.clearRect(0, 0, SIZE, SIZE);
    pen.globalAlpha = live ? 1 : 0.4;
    drawMark(pen);
    if (count > 0) drawCount(pen, text);
    const link = document.querySelector('link[rel="icon"]');
    if (link instanceof HTMLLinkElement) {
      link.type = "image/png";
      link.href = this.canvas.toDataURL("image/png");
    }
  }
}

/** The mark of `icons/mark.svg`: two answers to one ask. @param {CanvasRenderingContext2D} pen */
function drawMark(pen) {
  pen.fillStyle = "#2f6f6a";
  pen.beginPath();
  pen.roundRect(4, 4, 56, 56, 14);
  pen.fill();
  pen.strokeStyle = "#ffffff";
  pen.lineWidth = 6;
  pen.lineCap = "round";
  pen.lineJoin = "round";
  pen.beginPath();
  pen.moveTo(16, 24);
  pen.lineTo(48, 24);
  pen.moveTo(16, 40);
  pen.lineTo(26, 48);
  pen.lineTo(46, 34);
  pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {string} text */
function drawCount(pen, text) {
  pen.globalAlpha = 1;
  pen.fillStyle = "#b3261e";
  pen.beginPath();
  pen.roundRect(text.length > 2 ? 14 : 24, 24, text.length > 2 ? 50 : 40, 40, 20);
  pen.fill();
  pen.fillStyle = "#ffffff";
  pen.font = `bold ${text.length > 2 ? 24 : 30}px sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, text.length > 2 ? 39 : 44, 45);
}

// @ts-check

/** A name, not an address: nothing is fetched. */
const SVG = "http://www.w3.org/2000/svg";
/** Light modules around the code, without which scanners do not find it. */
const BORDER = 4;

/**
 * Draw a QR code from its rows of 0 and 1. Black on white in every theme: scanners need it.
 * @param {string[]} rows
 * @param {string} label
 */
export function qrPicture(rows, label) {
  const side = rows.length + 2 * BORDER;
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${side} ${side}`);
  picture.setAttribute("class", "qr");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
  picture.setAttribute("shape-rendering", "crispEdges");
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", String(side));
  ground.setAttribute("height", String(side));
  ground.setAttribute("fill", "#ffffff");
  const dark = document.createElementNS(SVG, "path");
  dark.setAttribute("d", outline(rows));
  dark.setAttribute("fill", "#000000");
  picture.append(ground, dark);
  return picture;
}

/** @param {string[]} rows */
function outline(rows) {
  const squares = rows.flatMap((row, y) =>
    [...row].flatMap((cell, x) => (cell === "1" ? [`M${x + BORDER} ${y + BORDER}h1v1h-1z`] : [])),
  );
  return squares.join("");
}

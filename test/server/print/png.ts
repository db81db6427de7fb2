/** A generated picture: a gradient with transparency. */
import { PNG } from "pngjs"

export const fadingPng = (width: number, height: number): Buffer => {
  const png = new PNG({ width, height })
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      png.data.set([20 + (x * 200) / width, 90, 200 - (y * 150) / height, 255 - Math.floor((x * 200) / width)], at)
    }
  return PNG.sync.write(png)
}

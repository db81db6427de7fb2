/** Where the drawing thread's program is: beside this file as source, else in `print/` of the bundled programs. */
import { existsSync } from "node:fs"

export const workerAddress = (): URL => {
  const places = ["./worker.ts", "./print/worker.js", "../print/worker.js"].map(
    (place) => new URL(place, import.meta.url)
  )
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error("the program that draws documents is missing: install Flightcase again")
  return found
}

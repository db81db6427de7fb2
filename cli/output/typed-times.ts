/** Times in commands that are shown to be typed. */
import { formatIn, parseMomentIn } from "../parse-time.ts"

/** Times of flags as they are typed on a store's clock, the shortest that is the same instant. */
export const typedTimes = (text: string, zone: string | undefined): string =>
  zone === undefined
    ? text
    : text.replace(/(--(?:from|to) )(\d{4}-\d{2}-\d{2}T[\d:.]+Z)/g, (_found, flag: string, instant: string) => {
        const minute = formatIn(instant, zone).replace(" ", "T")
        // A day alone is the whole of it: of an end its last second.
        const typed = [minute.slice(0, 10), minute].find(
          (one) => Date.parse(parseMomentIn(one, zone, flag.trim())) === Date.parse(instant)
        )
        return `${flag}${typed ?? instant}`
      })

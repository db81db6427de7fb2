// Preloaded (`--import`) into a process whose clock is to be wrong, or ahead, by SHIFTED_MILLIS: hours pass in minutes.
const shift = Number(process.env["SHIFTED_MILLIS"] ?? 0)
const RealDate = Date
const now = RealDate.now.bind(RealDate)
globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now() + shift] : given))
  }
  static now() {
    return now() + shift
  }
}

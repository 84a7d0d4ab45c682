// `make sim` and `make sim-full`: the rule of controller/src/operator/scale/decide.ts under simulated load, beside
// other scalers. Exits with 1 on a missed target. The same seeds give the same results on every machine.
import { parseArgs } from 'node:util'
import { compareAll, judgeAll } from './comparison.ts'
import { priceAll } from './prices.ts'
import { formatComparison, formatPrices, formatStep, formatVerdicts } from './report.ts'

// Seeds 1 to 20 did not shape the rule; use --first 901 to try changes. Eight seeds take five seconds of a core; all of
// them with the prices take under two minutes. A check may take a minute of CPU time.
const checkMaxCpuSeconds = 60
const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
  },
})
const count = readCount('seeds', values.seeds ?? (values.full ? '20' : '8'))
const first = readCount('first', values.first)
const seeds = Array.from({ length: count }, (_none, index) => first + index)

say(
  `${count} seeds from ${first}; D: seconds from desired to ready; missed: later than 2 s; pod-seconds ÷ the oracle's`,
)
const isCheck = !values.full && values.seeds === undefined
const cells = compareAll(seeds, isCheck ? expectWithinLimit : undefined)
say(formatComparison(cells))
say(formatStep(cells))
if (values.full) say(formatPrices(priceAll(seeds)))

const verdicts = judgeAll(cells)
const missed = verdicts.filter(({ isHeld }) => !isHeld).length
say(formatVerdicts(verdicts))
say(missed === 0 ? `all ${verdicts.length} targets held` : `${missed} of ${verdicts.length} targets MISSED`)
process.exitCode = missed === 0 ? 0 : 1

/** @throws Error above the CPU time of a check */
function expectWithinLimit(): void {
  const { user, system } = process.cpuUsage()
  const seconds = (user + system) / 1_000_000
  if (seconds <= checkMaxCpuSeconds) return
  throw new Error(
    `the simulation has taken ${seconds.toFixed(0)} s of CPU time and is not done; the limit of a check is ` +
      `${checkMaxCpuSeconds} s: simulate less, or make it faster (--seeds and --full have no limit)`,
  )
}

function say(text: string): void {
  process.stdout.write(`${text}\n\n`)
}

function readCount(name: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= 100_000) return value
  throw new Error(`--${name} ${text}: give a whole number from 1 to 100000`)
}

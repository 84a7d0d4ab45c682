// The simulator's loads at a quarter of their rate, shortened to minutes, so several scalers run side by side on two
// cores.
import { random } from '../../sim/random.ts'
import { burstRates, fillTrace, type Trace, type TraceName, traceNames } from '../../sim/trace.ts'

/** Divides the simulator's rates, and its limit of 40 pods. */
const rateDivisor = 4
export const maxReplicas = 40 / rateDivisor

/** The step goes up and down in these seconds. */
export const step = { up: 20, down: 110, seconds: 180 } as const
const bursts = { seconds: 210, calmSeconds: 45, burstSeconds: 40 } as const
const daySeconds = 360

const shapes: Readonly<Record<TraceName, (next: () => number) => Float64Array>> = {
  step: () => new Float64Array(step.seconds).map((_, second) => (second >= step.up && second < step.down ? 16 : 1)),
  bursts: (next) => burstRates(next, bursts),
  day: () =>
    new Float64Array(daySeconds).map((_, second) => 1 + 14 * Math.sin((2 * Math.PI * second) / daySeconds) ** 2),
}

export function makeLiveTrace(name: TraceName, seed: number): Trace {
  const next = random(seed * 3 + traceNames.indexOf(name))
  const phase = next()
  const rates = shapes[name](next).map((rate) => rate / rateDivisor)
  return fillTrace({ name, rates, phase }, next)
}

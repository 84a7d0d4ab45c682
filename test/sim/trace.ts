// The three loads with arrival and service time of each request, the same for every scaler.
import { exponential, random } from './random.ts'

export type TraceName = 'step' | 'bursts' | 'day'
export const traceNames: readonly TraceName[] = ['step', 'bursts', 'day']

export type Trace = {
  readonly name: TraceName
  readonly seconds: number
  /** Expected requests per second, in each second. */
  readonly rates: Float64Array
  /** Ascending, in seconds. */
  readonly arrivals: Float64Array
  /** Seconds that each occupies a slot. */
  readonly services: Float64Array
  /** A number in [0, 1): the phase of periodic scalers. */
  readonly phase: number
}

/** A request takes 0.5 s on average, 30 % more or less, evenly distributed. */
export const meanServiceSeconds = 0.5
export const serviceSpread = 0.3

/** The step goes up here and comes down ten minutes later. */
export const stepSecond = 600

export function makeTrace(name: TraceName, seed: number): Trace {
  const next = random(seed * 3 + traceNames.indexOf(name))
  const phase = next()
  return fillTrace({ name, rates: shapes[name](next), phase }, next)
}

/** Draws arrivals and service times for these rates. */
export function fillTrace({ name, rates, phase }: Pick<Trace, 'name' | 'rates' | 'phase'>, next: () => number): Trace {
  const arrivals = arrive(rates, next)
  const services = arrivals.map(() => drawService(next))
  return { name, seconds: rates.length, rates, arrivals, services, phase }
}

/** Seconds that a request occupies a slot. */
export const drawService = (next: () => number, mean = meanServiceSeconds): number =>
  mean * (1 + serviceSpread * (2 * next() - 1))

const shapes: Readonly<Record<TraceName, (next: () => number) => Float64Array>> = {
  /** 1/s, 16/s for 10 of 30 minutes, 1/s. */
  step: () => new Float64Array(1_800).map((_, second) => (second >= stepSecond && second < stepSecond + 600 ? 16 : 1)),
  /** Two states, each with a new random rate: 1 to 3/s for 240 s on average, 8 to 24/s for 60 s. */
  bursts: (next) => burstRates(next, { seconds: 3_600, calmSeconds: 240, burstSeconds: 60 }),
  /** One smooth hour from 1/s to two peaks of 15/s. */
  day: () => new Float64Array(3_600).map((_, second) => 1 + 14 * Math.sin((2 * Math.PI * second) / 3_600) ** 2),
}

type BurstTimes = { readonly seconds: number; readonly calmSeconds: number; readonly burstSeconds: number }

/** Alternates 1 to 3/s and 8 to 24/s, each for an exponentially distributed time with this mean. */
export function burstRates(next: () => number, { seconds, calmSeconds, burstSeconds }: BurstTimes): Float64Array {
  const rates = new Float64Array(seconds)
  let isBurst = false
  for (let second = 0; second < rates.length; isBurst = !isBurst) {
    const rate = isBurst ? 8 + 16 * next() : 1 + 2 * next()
    const end = second + Math.max(1, Math.round(exponential(isBurst ? burstSeconds : calmSeconds, next)))
    rates.fill(rate, second, end)
    second = end
  }
  return rates
}

/** Poisson arrivals at a rate that changes each second: the gap is used up at the rate of the second it crosses. */
function arrive(rates: Float64Array, next: () => number): Float64Array {
  const arrivals: number[] = []
  let gap = exponential(1, next)
  rates.forEach((rate, second) => {
    let at = second
    while (at + gap / rate < second + 1) {
      at += gap / rate
      arrivals.push(at)
      gap = exponential(1, next)
    }
    gap -= (second + 1 - at) * rate
  })
  return Float64Array.from(arrivals)
}

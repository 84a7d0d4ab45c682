import { hpaScaler, lookSeconds } from './hpa.ts'
import type { MakeScaler } from './scaler.ts'

const targetLoad = 0.7

/** metrics-server reads all nodes each 15 s (`--metric-resolution`) and gives the mean between its last two readings. */
const scrapeSeconds = 15

/**
 * A HorizontalPodAutoscaler on 70 % CPU. A pod's CPU is taken for the share of time that its slot is busy. The
 * reading is half a period old when the autoscaler looks, which is the mean of all phases; cAdvisor's own 10 s come on
 * top in a real cluster and are left out. Pods that are not ready count as idle on the way up: then they are part of
 * the ratio, and the answer is in both cases the whole use over the target.
 */
export const hpaCpu: MakeScaler = (setting, { phase }) =>
  hpaScaler(setting, phase, ({ now, meanBusy, desired, ready }) => {
    const scrapedAt = now - Math.floor(lookSeconds / 2)
    if (scrapedAt < scrapeSeconds) return undefined
    const used = meanBusy(scrapedAt - scrapeSeconds, scrapedAt)
    const ratioOfReady = used / (targetLoad * Math.max(1, ready))
    const ratio = ratioOfReady > 1 ? Math.max(1, used / (targetLoad * desired)) : ratioOfReady
    return { replicas: Math.ceil(used / targetLoad), ratio }
  })

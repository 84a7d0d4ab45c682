import { hpaScaler, periodSeconds } from './hpa.ts'
import type { MakeScaler } from './scaler.ts'

const targetLoad = 0.7

/** metrics-server reads all nodes each 15 s (`--metric-resolution`) and returns the mean of its last two readings. */
const scrapeSeconds = 15

/**
 * A HorizontalPodAutoscaler on 70 % CPU. A pod's CPU usage is the share of time that its slot is busy. The reading is
 * half a period old when the autoscaler decides, which is the mean of all phases; a real cluster adds 10 s of
 * cAdvisor, which are omitted. When it scales up, pods that are not ready count as idle and
 * are part of the ratio; the result is the whole usage over the target in both cases.
 */
export const hpaCpu: MakeScaler = (setting, { phase }) =>
  hpaScaler(setting, { phase }, ({ now, meanBusy, desired, ready }) => {
    const scrapedAt = now - Math.floor(periodSeconds / 2)
    if (scrapedAt < scrapeSeconds) return undefined
    const used = meanBusy(scrapedAt - scrapeSeconds, scrapedAt)
    const ratioOfReady = used / (targetLoad * Math.max(1, ready))
    const ratio = ratioOfReady > 1 ? Math.max(1, used / (targetLoad * desired)) : ratioOfReady
    return { replicas: Math.ceil(used / targetLoad), ratio }
  })

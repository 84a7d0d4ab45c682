import { gauge } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import type { ImageMemory } from './image/image-memory.ts'

const budgets = ['files', 'pixels'] as const

/** All of this file; docs/metrics.md lists them. */
export const memoryMetrics = {
  used: gauge({
    name: 'matte_image_memory_used_bytes',
    reader: 'saturation',
    help: 'Memory reserved for files or pixels of images in this process.',
    labels: { for: budgets },
  }),
  waiting: gauge({
    name: 'matte_image_memory_waiting_bytes',
    reader: 'saturation',
    help: 'Memory that tasks of this process wait for. Above 0, one more worker makes images finish sooner.',
    labels: { for: budgets },
  }),
  max: gauge({
    name: 'matte_image_memory_max_bytes',
    reader: 'saturation',
    help: 'Bound of the memory for files or pixels in this process, both together IMAGE_MEMORY_BYTES.',
    labels: { for: budgets },
  }),
}

export function registerMemory(registry: Registry, memory: ImageMemory): void {
  memoryMetrics.used.register(registry, (metric) => {
    for (const budget of budgets) metric.set({ for: budget }, memory[budget].used())
  })
  memoryMetrics.waiting.register(registry, (metric) => {
    for (const budget of budgets) metric.set({ for: budget }, memory[budget].waiting())
  })
  memoryMetrics.max.register(registry, (metric) => {
    for (const budget of budgets) metric.set({ for: budget }, memory[budget].total)
  })
}

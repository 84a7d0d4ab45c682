import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createImageMemory } from './image/image-memory.ts'
import { registerGauges } from './task-metrics.ts'

describe('metrics of image memory', () => {
  it('report what is reserved, what tasks wait for, and the bound of each', async () => {
    const memory = createImageMemory(800)
    const registry = new Registry()
    registerGauges(registry, { tasksInFlight: () => 0, slotsUsed: () => 0, inFlightMax: 1, memory })
    const release = await memory.pixels.acquire(600)
    const second = memory.pixels.acquire(300)
    await memory.files.acquire(40)
    const read = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('matte_image_'))
    expect(await read()).toEqual([
      'matte_image_memory_used_bytes{for="files"} 40',
      'matte_image_memory_used_bytes{for="pixels"} 600',
      'matte_image_memory_waiting_bytes{for="files"} 0',
      'matte_image_memory_waiting_bytes{for="pixels"} 300',
      'matte_image_memory_max_bytes{for="files"} 100',
      'matte_image_memory_max_bytes{for="pixels"} 700',
    ])
    release()
    await second
    expect(await read()).toContain('matte_image_memory_waiting_bytes{for="pixels"} 0')
  })
})

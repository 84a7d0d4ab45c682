// The Python onnxruntime backend of local mode, as far as it can be tested without a GPU.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installModelTools } from '@matte/local/models/model-tools'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { beforeAll, describe, expect, it } from 'vitest'

const model = join(rootDir, 'models/u2netp/1/model.onnx')
const forGpus = join(rootDir, 'models/u2netp/1/model.gpu.onnx')
const backend = join(rootDir, 'local/triton/backends/onnxruntime/model.py')

describe('the onnxruntime backend in Python', () => {
  let found: Record<string, unknown>
  beforeAll(async () => {
    const { command, env } = await installModelTools(sayToTerminal)
    const script = join(import.meta.dirname, 'backend_cases.py')
    const { stdout } = await promisify(execFile)(command, [script, backend, model, forGpus], { env })
    // onnxruntime's own messages precede the last line or go to stderr.
    found = JSON.parse(stdout.slice(stdout.lastIndexOf('{"cpu"')))
  })

  it('runs an instance of KIND_CPU on the CPU', () => {
    expect(found.cpu).toEqual(['CPUExecutionProvider'])
  })

  it('refuses an instance of KIND_GPU with the CPU package, and says what to install', () => {
    expect(found['gpu without CUDA']).toMatch(/^refused: .*KIND_GPU.*`local\/triton\/install\.sh TARGET gpu`/)
  })

  it('refuses an instance of KIND_GPU if CUDA does not start, instead of using the CPU', () => {
    expect(found['gpu that does not start']).toMatch(/^refused: .*does not start CUDA/)
  })

  it('gives the CUDA provider the defaults of the C++ backend', () => {
    expect(found.defaults).toEqual({
      cudnn_conv_algo_search: 'EXHAUSTIVE',
      arena_extend_strategy: 'kNextPowerOfTwo',
      do_copy_in_default_stream: '1',
      device_id: '1',
    })
  })

  it('reads parameters of the model and of the accelerator `cuda`; for the search, those of the model win', () => {
    expect(found.given).toEqual({
      cudnn_conv_algo_search: 'HEURISTIC',
      arena_extend_strategy: 'kSameAsRequested',
      do_copy_in_default_stream: '1',
      gpu_mem_limit: '1000',
      use_tf32: '0',
      device_id: '1',
    })
  })

  it('gets one mask per image from the GPU file of u2netp', () => {
    const masks = found['file for GPUs'] as [shape: number[], apart: number][]
    expect(masks.map(([shape]) => shape)).toEqual([
      [1, 320, 320],
      [3, 320, 320],
    ])
    expect(Math.max(...masks.map(([, apart]) => apart))).toBeLessThanOrEqual(1)
  })

  it('refuses batches for a graph whose first axis is 1, as the C++ backend does', () => {
    expect(found['closed axis']).toMatch(/^refused: tensor 'alpha' has shape \[1, 64, 64\].*max_batch_size 1/)
    expect([found['closed axis without batches'], found['open axis']]).toEqual([null, null])
  })

  it('refuses an unknown value and an unknown accelerator', () => {
    expect(found['unknown value']).toBe("refused: unsupported cudnn_conv_algo_search value '3'")
    expect(found['other accelerator']).toMatch(/^refused: .*tensorrt/)
  })
})

import { join } from 'node:path'
import { installPackages } from '../install/python-packages.ts'
import { rootDir } from '../paths.ts'
import type { Say } from '../say.ts'
import { installTriton } from '../servers/triton.ts'

/** Python with the packages of `models/add.py`: onnx, and the inference server's numpy and onnxruntime. */
export async function installModelTools(
  say: Say,
): Promise<{ readonly command: string; readonly env: NodeJS.ProcessEnv }> {
  const triton = await installTriton(say)
  const requirements = join(rootDir, 'models/requirements.txt')
  const saying = 'fetching the ONNX packages (14 MB, 70 MB on disk)'
  const { command, dir } = await installPackages({ name: 'onnx', requirements, saying }, say)
  const runtime = join(triton.dir, 'pytriton/tritonserver/backends/python')
  const env = { ...process.env, PYTHONPATH: `${runtime}:${dir}`, PYTHONDONTWRITEBYTECODE: '1' }
  return { command, env }
}

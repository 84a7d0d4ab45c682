import { globSync } from 'node:fs'

const folders = '{.ci,api,charts,controller,dispatcher,docs,local,models,protos,test}'

/** The repository's files whose names fit, such as `*.ts`, sorted, with paths from the root. */
export function listFiles(rootDir: string, name: string): string[] {
  const exclude = (path: string): boolean => path.includes('node_modules')
  return globSync([name, `${folders}/**/${name}`], { cwd: rootDir, exclude }).sort()
}

// Names of the files of a task, for people.
import type { Task } from 'matte-client'

const keyPrefix = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-/

/** The name that the file had when it was uploaded: the object key has it behind an id. */
export function sourceName({ sourceUrl }: Pick<Task, 'sourceUrl'>): string {
  const last = sourceUrl.split('/').at(-1) ?? ''
  return last.replace(keyPrefix, '') || last
}

/** `cat.jpg` becomes `cat.png`. */
export function resultName(task: Pick<Task, 'sourceUrl' | 'resultFormat'>): string {
  const name = sourceName(task)
  const stem = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name
  return `${stem || 'image'}.${task.resultFormat === 'jpeg' ? 'jpg' : (task.resultFormat ?? 'png')}`
}

/** Gives each name once: `cat.png`, `cat (2).png`. Case does not count, since some file systems ignore it. */
export function createUniqueNames(): (name: string) => string {
  const taken = new Set<string>()
  return (name) => {
    const dot = name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
    let unique = name
    for (let count = 2; taken.has(unique.toLowerCase()); count++) unique = `${stem} (${count})${ending}`
    taken.add(unique.toLowerCase())
    return unique
  }
}

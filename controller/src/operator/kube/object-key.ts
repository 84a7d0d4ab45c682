// Names of objects over several namespaces.
import type { KubeObject } from './objects.ts'

export const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`

export const keyOfObject = ({ metadata: { namespace, name } }: KubeObject): string => objectKey(namespace, name)

/** No namespace and no name has a slash. */
export const nameInKey = (key: string): string => key.slice(key.indexOf('/') + 1)

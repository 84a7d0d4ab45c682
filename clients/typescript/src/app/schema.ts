import type { paths } from '../generated/app.ts'
import type { DataOf, InputOf, MethodOf } from '../schema.ts'

export type AppPath = keyof paths
export type AppMethod<Path extends AppPath> = MethodOf<paths, Path>
/** `data` of an operation's answer. */
export type AppData<Path extends AppPath, Verb extends string> = DataOf<paths, Path, Verb>
/** Parameters and body of an operation. */
export type AppInput<Path extends AppPath, Verb extends string> = InputOf<paths, Path, Verb>

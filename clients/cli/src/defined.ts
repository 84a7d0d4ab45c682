type Defined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Members that have a value, for requests where an absent field differs from an empty one. */
export const defined = <T extends object>(value: T): Defined<T> =>
  // The filter removes exactly what the type leaves out.
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Defined<T>

import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'

type Compile = ReturnType<ReturnType<typeof SerializerSelector>>
type Route = Parameters<Compile>[0]
type Serialize = ReturnType<Compile>

const select = SerializerSelector()

/** Compiled at first use and shared by shape: 2,000 compiled at start use more memory than the rest of the process. */
export function serializersOnDemand(...shared: Parameters<typeof select>): Compile {
  const compile = select(...shared)
  const byShape = new Map<string, Serialize>()
  return (route) => {
    let serialize: Serialize | undefined
    return (data) => {
      serialize ??= compileOnce(byShape, compile, route)
      return serialize(data)
    }
  }
}

function compileOnce(byShape: Map<string, Serialize>, compile: Compile, route: Route): Serialize {
  const { description: _description, ...shape } = route.schema as { readonly description?: string }
  const key = JSON.stringify(shape)
  const found = byShape.get(key) ?? compile({ ...route, schema: shape })
  byShape.set(key, found)
  return found
}

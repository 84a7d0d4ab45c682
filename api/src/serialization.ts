import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'

type Compile = ReturnType<ReturnType<typeof SerializerSelector>>
type Route = Parameters<Compile>[0]
type Serialize = ReturnType<Compile>

const select = SerializerSelector()

/**
 * Fastify's own serializers, compiled at their first answer and shared by all answers of one shape: compiled at the
 * start, those of two thousand answers, nearly all of them errors, hold more memory than the rest of an idle process.
 */
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

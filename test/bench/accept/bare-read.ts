// Bare route to compare with `GET /tasks/{id}`: Fastify with its defaults, and one select by primary key through a pool
// like the service's. `node bare-read.ts PORT DATABASE_URL POOL_MAX`; prints "ready".
import { fastify } from 'fastify'
import pg from 'pg'

const [port = '', connectionString = '', max = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: Number(max) })
const app = fastify()
app.get<{ Params: { id: string } }>('/api/v1/open/developer/tasks/:id', async ({ params }) => {
  const { rows } = await pool.query({ name: 'read', text: 'select * from task where id = $1', values: [params.id] })
  return rows[0]
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.stdout.write('ready')

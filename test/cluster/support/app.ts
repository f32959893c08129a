// An application: a Deployment of a small HTTP server, and its Service.

/** Answers with its name, and with the headers and path of the request as JSON. */
const SCRIPT = `
import { createServer } from 'node:http'
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ app: process.env.APP, url: request.url, headers: request.headers }))
})
// Node would close idle connections after 5 s, and Envoy answer 503 where it uses one at that moment.
server.keepAliveTimeout = 0
server.listen(8080)
process.on('SIGTERM', () => process.exit())
`

/** Returns the objects of an application that listens on port 80 of its Service. */
export function app(name: string, namespace = 'default'): readonly object[] {
  const metadata = { name, namespace }
  const labels = { app: name }
  const container = {
    name: 'app',
    image: 'gatehouse:latest',
    imagePullPolicy: 'Never',
    command: ['node', '/srv/app.mjs'],
    env: [{ name: 'APP', value: name }],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'script', mountPath: '/srv' }],
  }
  const volumes = [{ name: 'script', configMap: { name } }]
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'app.mjs': SCRIPT } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container], volumes } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  ]
}

// The demo's LLM server for docker-compose, at http://127.0.0.1:4000/v1 in the network that the containers share.

import { startLlmServer } from '../dist/cli/demo/llm-server.js'

await startLlmServer({ port: 4000, onPrompt: (prompt) => console.log(`the model got: ${prompt}`) })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))

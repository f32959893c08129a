// Starts third-party Python servers on free loopback ports: LiteLLM's proxy and Presidio.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../../testing/ports.js'
import { startProgram } from './child-program.js'
import { litellmHome, presidioHome } from './tools.js'

const FOLDER = resolve(import.meta.dirname, '../python')
/** Logged by uvicorn when it listens. */
const UP = /Uvicorn running on/

export interface PythonServer {
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

/** Starts the webhook of presidio_webhook.py. */
export const startPresidio = (): Promise<PythonServer> =>
  serving((port) => ({
    command: join(presidioHome(), 'bin/python'),
    args: ['-m', 'uvicorn', 'presidio_webhook:app', '--app-dir', FOLDER, '--port', port],
  }))

/** @param models name → litellm_params, as in LiteLLM's configuration. */
export async function startLitellm(
  models: Readonly<Record<string, object>>,
): Promise<PythonServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-litellm-'))
  const config = join(folder, 'config.yaml')
  const list = Object.entries(models).map(([model_name, params]) => ({
    model_name,
    litellm_params: params,
  }))
  await writeFile(config, stringify({ model_list: list }))
  const server = await serving((port) => ({
    command: join(litellmHome(), 'bin/litellm'),
    args: ['--config', config, '--host', '127.0.0.1', '--port', port, '--telemetry', 'False'],
  }))
  return {
    ...server,
    close: async () => {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}

const ENVIRONMENT = {
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
  // LiteLLM: require no key, and use the packaged price list.
  LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
}

async function serving(
  program: (port: string) => { command: string; args: readonly string[] },
): Promise<PythonServer> {
  const port = await freePort()
  const { command, args } = program(String(port))
  const child = startProgram(command, args, { env: ENVIRONMENT })
  await child.seen(UP)
  return { host: '127.0.0.1', port, close: () => child.stop() }
}

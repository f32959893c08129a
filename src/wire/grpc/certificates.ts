// Reads the certificate files of a TLS server and follows their changes: new connections get the latest ones.

import { readFile } from 'node:fs/promises'
import type { SecureContextOptions } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { errorText } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import { certificatesIn } from '../../kit/pem.js'

/** Paths of PEM files. With clientCa, only clients with a certificate signed by it may connect. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly clientCa?: string
  /** Whether clients without a certificate may connect, too: each of their calls is authenticated by a token. */
  readonly acceptsTokens?: boolean
  /** How often the files are read again, in milliseconds; default 10,000. */
  readonly rereadMs?: number
}

/** The certificate files of a TLS server, kept up to date. */
export interface Certificates {
  /** Whether clients are asked for a certificate. */
  readonly asksClients: boolean
  /** Whether only clients with a certificate may connect. */
  readonly requiresClients: boolean
  contextOptions(): SecureContextOptions
  /** Calls listener whenever contextOptions() has changed. */
  onChange(listener: () => void): void
  close(): void
}

interface Pems {
  readonly cert: Buffer
  readonly key: Buffer
  readonly clientCa?: Buffer
}

const REREAD_MS = 10_000

/**
 * Reads the files now and at intervals. If they become unusable, the last good ones stay in use and it is logged.
 * @throws {Error} the files cannot be read or used at the start.
 */
export async function watchCertificates(files: TlsFiles, logger: Logger): Promise<Certificates> {
  let current = await readPems(files)
  const listeners = new Set<() => void>()

  const reread = async (): Promise<void> => {
    try {
      const next = await readPems(files)
      if (samePems(next, current)) return
      current = next
      for (const listener of listeners) listener()
      logger.info({ cert: files.cert }, 'reloaded the TLS certificate')
    } catch (error) {
      const reason = errorText(error)
      logger.warn(
        { cert: files.cert, reason },
        'TLS certificate not usable; the previous one stays in use',
      )
    }
  }
  const timer = setInterval(() => void reread(), files.rereadMs ?? REREAD_MS)
  timer.unref()

  return {
    asksClients: files.clientCa !== undefined,
    requiresClients: files.clientCa !== undefined && files.acceptsTokens !== true,
    contextOptions: () => ({
      cert: current.cert,
      key: current.key,
      ca: current.clientCa,
      minVersion: 'TLSv1.2',
    }),
    onChange: (listener) => void listeners.add(listener),
    close: () => clearInterval(timer),
  }
}

async function readPems(files: TlsFiles): Promise<Pems> {
  const [cert, key, clientCa] = await Promise.all([
    readPem(files.cert),
    readPem(files.key),
    files.clientCa === undefined ? undefined : readPem(files.clientCa),
  ])
  expectUsable(
    () => createSecureContext({ cert }),
    `${files.cert} is not a certificate chain in PEM`,
  )
  expectUsable(() => createSecureContext({ key }), `${files.key} is not a private key in PEM`)
  expectUsable(
    () => createSecureContext({ cert, key }),
    `${files.key} is not the private key of ${files.cert}`,
  )
  if (clientCa === undefined) return { cert, key }
  // createSecureContext() accepts anything as authorities, and trusts those before the first that it cannot parse.
  expectUsable(
    () => certificatesIn(clientCa.toString('latin1')),
    `${files.clientCa} is not a certificate in PEM`,
  )
  return { cert, key, clientCa }
}

const readPem = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'ENOENT' ? `${path}: no such file` : `${path} cannot be read: ${String(code)}`,
    )
  })

function expectUsable(use: () => unknown, otherwise: string): void {
  try {
    use()
  } catch (error) {
    throw new Error(`${otherwise}: ${errorText(error)}`)
  }
}

const samePems = (a: Pems, b: Pems): boolean =>
  a.cert.equals(b.cert) &&
  a.key.equals(b.key) &&
  (a.clientCa === undefined || b.clientCa === undefined || a.clientCa.equals(b.clientCa))

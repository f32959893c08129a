// Certificate files → TLS credentials that follow the files: new connections get what was read last.

import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readFile } from 'node:fs/promises'
import { experimental } from '@grpc/grpc-js'
import type { ServerCredentials } from '@grpc/grpc-js'
import type { Logger } from '../logger.js'

/** PEM files. With clientCa, only clients with a certificate signed by it may connect. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly clientCa?: string
  /** How often the files are looked at, in milliseconds; default 10,000. */
  readonly rereadMs?: number
}

export interface Certificates {
  readonly credentials: ServerCredentials
  close(): void
}

interface Pems {
  readonly cert: Buffer
  readonly key: Buffer
  readonly clientCa?: Buffer
}

type Listener<Update> = (update: Update | null) => void
type IdentityListener = Listener<{ certificate: Buffer; privateKey: Buffer }>
type CaListener = Listener<{ caCertificate: Buffer }>

const REREAD_MS = 10_000

/**
 * Files that stop being usable leave the last good ones in place, with a log line.
 * @throws {Error} the files cannot be read or used at the start.
 */
export const watchCertificates = async (files: TlsFiles, logger: Logger): Promise<Certificates> => {
  let current = await readPems(files)
  const identityListeners = new Set<IdentityListener>()
  const caListeners = new Set<CaListener>()
  const tellIdentity: (listener: IdentityListener) => void = (listener) =>
    listener({ certificate: current.cert, privateKey: current.key })
  const tellCa: (listener: CaListener) => void = (listener) =>
    listener(current.clientCa === undefined ? null : { caCertificate: current.clientCa })

  const reread = async (): Promise<void> => {
    try {
      const next = await readPems(files)
      if (samePems(next, current)) return
      current = next
      identityListeners.forEach(tellIdentity)
      caListeners.forEach(tellCa)
      logger.info({ cert: files.cert }, 'TLS certificate re-read')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      logger.warn({ cert: files.cert, reason }, 'TLS certificate not usable, the last one stays')
    }
  }
  const timer = setInterval(() => void reread(), files.rereadMs ?? REREAD_MS)
  timer.unref()

  // Told a moment later: grpc-js looks for the first update only after it has added itself.
  const provider = {
    addIdentityCertificateListener: (listener: IdentityListener): void => {
      identityListeners.add(listener)
      queueMicrotask(() => tellIdentity(listener))
    },
    removeIdentityCertificateListener: (listener: IdentityListener): void => {
      identityListeners.delete(listener)
    },
    addCaCertificateListener: (listener: CaListener): void => {
      caListeners.add(listener)
      queueMicrotask(() => tellCa(listener))
    },
    removeCaCertificateListener: (listener: CaListener): void => {
      caListeners.delete(listener)
    },
  }
  const withClients = files.clientCa !== undefined
  return {
    credentials: experimental.createCertificateProviderServerCredentials(
      // grpc-js 1.14 names its first two parameters the other way round than it uses them.
      provider,
      withClients ? provider : null,
      withClients,
    ),
    close: () => clearInterval(timer),
  }
}

const readPems = async (files: TlsFiles): Promise<Pems> => {
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
  // A secure context takes anything for authorities, and then trusts none.
  expectUsable(() => new X509Certificate(clientCa), `${files.clientCa} is not a certificate in PEM`)
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
    throw new Error(`${otherwise}: ${(error as Error).message}`)
  }
}

const samePems = (a: Pems, b: Pems): boolean =>
  a.cert.equals(b.cert) &&
  a.key.equals(b.key) &&
  (a.clientCa === undefined || b.clientCa === undefined || a.clientCa.equals(b.clientCa))

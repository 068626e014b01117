# The operator's image for those who have a container engine. Untested where Quorate is built, which has none: there
# `npm run build -- --image` writes the same content (Node, its libraries, the program) as an OCI archive.
FROM node:24-bookworm-slim AS build
WORKDIR /source
COPY . .
# Installs what the lock file says, Node for the image included, and bundles the program.
RUN npm run build && cp "$(readlink -f node_modules/.bin/node)" /usr/local/bin/packaged-node

# libc, libstdc++ and libgcc, no shell; user 65532.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /usr/local/bin/packaged-node /usr/local/bin/node
COPY --from=build /source/dist/app/*.mjs /app/
COPY --from=build /source/dist/app/parts/*.mjs /app/parts/
COPY --from=build /source/dist/app/LEGAL.txt /licenses/packages.txt
USER 65532:65532
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "/app/quorate.mjs"]
CMD ["operator"]

# dond in a container: the environment, learners, leagues, language models and the page; PyTorch's CPU build.
#   docker build -t dond-marl .
#   docker run --rm -it dond-marl play
#   docker run --rm -it -v "$PWD/runs:/home/dond/runs" dond-marl league --config league_quick.yaml
#   docker run --rm -it -p 8080:8080 dond-marl web --host 0.0.0.0 --port 8080 --no-browser   # prints the address and its key
FROM python:3.11-slim AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /source
COPY . .
RUN python -m venv /opt/dond \
 && /opt/dond/bin/pip install --no-cache-dir --constraint constraints.txt --extra-index-url "$TORCH_INDEX" '.[all]'

FROM python:3.11-slim
COPY --from=build /opt/dond /opt/dond
RUN useradd --create-home dond
ENV PATH=/opt/dond/bin:$PATH
USER dond
WORKDIR /home/dond
ENTRYPOINT ["dond"]
